// What this browser keeps of a reader's wishes, and how far it goes: a browser that keeps nothing forgets with the page.

export function kept(name, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(`zorkgpt-${name}`)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function keep(name, wish) {
  try {
    localStorage.setItem(`zorkgpt-${name}`, JSON.stringify(wish));
  } catch {
    // Then it holds until the page is left.
  }
}
