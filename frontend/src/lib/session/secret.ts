const TOKEN_PREFIX = "gst_"

/** Reads a pasted secret: an API token, a one-time code, or the whole link with the code behind its `#`. */
export function readSecret(pasted: string): { code: string } | { token: string } {
  const text = pasted.trim()
  if (text.startsWith(TOKEN_PREFIX)) return { token: text }
  return { code: text.slice(text.lastIndexOf("#") + 1) }
}
