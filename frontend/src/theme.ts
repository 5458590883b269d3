import { createTheme, type CSSVariablesResolver, type MantineColorsTuple } from "@mantine/core"

const stream: MantineColorsTuple = [
  "#e6f6f8", "#cdebf0", "#9bd7e2", "#66c2d2", "#3fb0c4", "#2596ab", "#157f95", "#0b7285", "#0a6072", "#084e5d",
]
const dark: MantineColorsTuple = [
  "#d8dfe6", "#bac5cf", "#98a6b3", "#6c7b89", "#354350", "#2a3641", "#1d2730", "#161e26", "#10171d", "#0b1116",
]

export const theme = createTheme({
  primaryColor: "stream",
  primaryShade: { light: 7, dark: 7 },
  colors: { stream, dark },
  fontFamily: "'Inter Variable', system-ui, -apple-system, 'Segoe UI', sans-serif",
  fontFamilyMonospace: "ui-monospace, 'SF Mono', 'Cascadia Mono', 'DejaVu Sans Mono', monospace",
  headings: { fontWeight: "620", sizes: { h1: { fontSize: "1.5rem", lineHeight: "1.3" }, h2: { fontSize: "1rem", lineHeight: "1.4" } } },
  defaultRadius: "md",
  cursorType: "pointer",
  /** Menus and dialogs come at once for people who ask their system for less motion. */
  respectReducedMotion: true,
  components: {
    /** Without it the first item has the focus; what Mantine would put before it is no child that a menu may have. */
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    Tooltip: { defaultProps: { multiline: true, maw: 320, withArrow: true, events: { hover: true, focus: true, touch: true } } },
    Table: { defaultProps: { verticalSpacing: "sm", highlightOnHover: true } },
  },
})

/** Mantine's own dimmed text, dark links and yellow titles are too weak for WCAG AA. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-dimmed": "#5a6773",
    "--mantine-color-placeholder": "#66727d",
    "--mantine-color-error": "#b92424",
    "--mantine-color-yellow-light-color": "#8a5a00",
    "--gs-page": "#edf1f5",
    "--gs-card": "#ffffff",
    "--gs-line": "#d5dce3",
    "--gs-grid": "#e6ebf0",
    "--gs-shadow": "0 1px 2px rgb(16 32 48 / 7%), 0 3px 8px -2px rgb(16 32 48 / 9%)",
    "--gs-good": "#176c35",
    "--gs-bad": "#b92424",
    "--gs-busy": "#0b6a9e",
    "--gs-wait": "#8a5a00",
  },
  dark: {
    "--mantine-color-dimmed": "#98a6b3",
    "--mantine-color-placeholder": "#8796a4",
    "--mantine-color-anchor": "#66c2d2",
    "--mantine-color-error": "#ff8787",
    "--mantine-color-red-light": "rgb(224 49 49 / 15%)",
    "--gs-page": "#10171d",
    "--gs-card": "#161e26",
    "--gs-line": "#2a3641",
    "--gs-grid": "#222d37",
    "--gs-shadow": "0 1px 2px rgb(0 0 0 / 22%)",
    "--gs-good": "#5fd38d",
    "--gs-bad": "#ff8787",
    "--gs-busy": "#6cc0f0",
    "--gs-wait": "#f2bc4b",
  },
})
