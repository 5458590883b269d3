import { parse, stringify } from "yaml"

/** A value typed into one line, as YAML reads it; text that is no YAML stays text. */
export function readScalar(text: string): unknown {
  try {
    return parse(text) ?? text
  } catch {
    return text
  }
}

/** Value of a field that takes a number or text; undefined for no text. */
export function numberOrText(text: string): number | string | undefined {
  if (text === "") return undefined
  return /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : text
}

export function writeScalar(value: unknown): string {
  if (typeof value === "string") return readScalar(value) === value ? value : JSON.stringify(value)
  return stringify(value, { collectionStyle: "flow" }).trim()
}
