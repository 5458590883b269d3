/** Lets the browser save text as a file. */
export function saveText(text: string, name: string): void {
  saveBlob(new Blob([text], { type: "text/plain" }), name)
}

export function saveBlob(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob)
  const link = Object.assign(document.createElement("a"), { href: url, download: name })
  link.click()
  URL.revokeObjectURL(url)
}
