import type { Plugin } from "vite"

const MANTINE = "/@mantine/core/styles.css"
const LINK = /\n\s*<link rel="stylesheet"[^>]*>/g

/**
 * Links the file with Mantine's styles before all others. Vite links a file after those that it imports, and what comes later wins: without this, Mantine
 * would override the page's own styles in common files.
 */
export function mantineFirst(): Plugin {
  return {
    name: "mantine-first",
    apply: "build",
    transformIndexHtml: {
      order: "post",
      handler(html, { bundle = {} }) {
        const chunks = Object.values(bundle).filter((file) => file.type === "chunk")
        const own = chunks.filter(({ moduleIds }) => moduleIds.some((id) => id.endsWith(MANTINE))).flatMap(({ viteMetadata }) => [...(viteMetadata?.importedCss ?? [])])
        const links = html.match(LINK) ?? []
        const first = links.filter((link) => own.some((file) => link.includes(file)))
        if (first.length === 0) throw new Error(`index.html links no file with the styles ${MANTINE}`)
        const ordered = [...first, ...links.filter((link) => !first.includes(link))]
        return html.replace(LINK, () => ordered.shift()!)
      },
    },
  }
}
