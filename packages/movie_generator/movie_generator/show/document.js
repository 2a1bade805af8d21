// Which words of the page a narration rests on: by pointer, by click and by keyboard.
"use strict";
const narrations = [...document.querySelectorAll(".narration")];
const marks = [...document.querySelectorAll("mark")];
const numbersOf = (mark) => mark.dataset.narrations.split(" ");

function light(number) {
  for (const it of narrations) it.classList.toggle("on", it.dataset.number === number);
  for (const it of marks) it.classList.toggle("on", numbersOf(it).includes(number));
}

function choose(narration) {
  light(narration.dataset.number);
  const first = document.querySelector("mark.on");
  if (first) first.scrollIntoView({ block: "center" });
}

for (const narration of narrations) {
  narration.addEventListener("mouseenter", () => light(narration.dataset.number));
  narration.addEventListener("focus", () => choose(narration));
  narration.addEventListener("click", (event) => {
    event.preventDefault();
    narration.focus();
    choose(narration);
  });
}
for (const mark of marks) {
  mark.addEventListener("click", () => {
    const numbers = numbersOf(mark);
    const at = numbers.indexOf(document.activeElement.dataset.number);
    narrations[Number(numbers[(at + 1) % numbers.length])].focus();
  });
}
document.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || event.altKey || event.ctrlKey || event.metaKey || !narrations.length) return;
  const at = narrations.indexOf(document.activeElement);
  const next = at < 0 ? (step > 0 ? 0 : narrations.length - 1) : at + step;
  if (narrations[next]) narrations[next].focus();
  event.preventDefault();
});
