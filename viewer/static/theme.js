// Runs before the first paint, so that a chosen theme does not flash; hence no module.
{
  let chosen = null;
  try {
    chosen = JSON.parse(localStorage.getItem("zorkgpt-theme"));
  } catch {
    // A browser that keeps nothing follows the system.
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
}
