// @ts-check
// The theme: as the system, light, or dark. It is kept for the next page where the browser allows that.

import {readColours} from "./colour.js";
import {byID, icon, say} from "./elements.js";
import {change, state} from "./state.js";

/** @type {Record<string, string>} */
const themeIcons = {
  system: "M2.5 3h11v8h-11zM6 13.5h4M8 11v2.5",
  light: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1.5v1.2M8 13.3v1.2M1.5 8h1.2M13.3 8h1.2M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9",
  dark: "M13.5 9.5A6 6 0 0 1 6.5 2.5a5.8 5.8 0 1 0 7 7",
};

export function storedTheme() {
  try {
    return localStorage.getItem("proton-report-theme") ?? "system";
  } catch {
    return "system"; // some browsers give files no storage
  }
}

/** @param {string} theme */
export function applyTheme(theme) {
  if (!themeIcons[theme]) theme = "system";
  const isDark = theme === "dark" || (theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
  readColours();
  const button = byID("theme");
  button.replaceChildren(icon(themeIcons[theme]));
  button.setAttribute("aria-label", `Theme: ${theme === "system" ? "as the system" : theme}`);
  state.theme = ""; // the theme of the system may have changed
  change({theme});
}

export function nextTheme() {
  const all = Object.keys(themeIcons);
  const theme = all[(all.indexOf(state.theme) + 1) % all.length];
  applyTheme(theme);
  try {
    localStorage.setItem("proton-report-theme", theme);
  } catch {
    // then it lasts as long as the page
  }
  say(byID("theme").getAttribute("aria-label") ?? "");
}
