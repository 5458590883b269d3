const TEXT = /\.(json|yaml|yml|txt|md|csv|log|toml)$/i
const MAX_BYTES = 256_000

export function canPreview(name: string, size: number): boolean {
  return TEXT.test(name) && size <= MAX_BYTES
}

/** JSON with line breaks; what is none, and all else, as it is. */
export function asPreview(name: string, text: string): string {
  if (!/\.json$/i.test(name)) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text // a NaN in it, for one
  }
}
