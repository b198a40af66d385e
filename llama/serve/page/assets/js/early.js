// Runs before anything is drawn, so that a page in the dark does not flash white.
try {
  const theme = localStorage.getItem('antigravity.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // A browser that keeps nothing follows the system.
}
