/** Labels of neighbours stand on one line, and so do their inputs, however long the help below them is. */
export const HELP_BELOW: ("label" | "input" | "description" | "error")[] = ["label", "input", "error", "description"]
