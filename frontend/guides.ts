import { basename } from "node:path"
import { Marked, type Token, type Tokens } from "marked"
import type { Plugin } from "vite"

/** Documents that the page has, below its address /guides: the guides and the glossary. */
const SHIPPED = /^\/docs\/(?:guides\/)?([\w-]+)\.md$/

/**
 * The guides of the repository as modules of HTML, so that an installed page shows them without a network. `guide.md` is
 * `{ title, html }`, and `guide.md?title` its title alone.
 */
export function guides(): Plugin {
  return {
    name: "guides",
    enforce: "pre",
    transform(text, id) {
      const [file, query] = id.split("?")
      if (!file?.endsWith(".md")) return null
      const { title, html } = renderGuide(basename(file, ".md"), text)
      return query === "title" ? exported({ default: title }) : exported({ title, html })
    },
  }
}

function exported(values: Record<string, string>) {
  const lines = Object.entries(values).map(([name, value]) => (name === "default" ? `export default ${JSON.stringify(value)}` : `export const ${name} = ${JSON.stringify(value)}`))
  return { code: lines.join("\n"), map: null }
}

/** The page shows the title by itself, so the HTML begins below it. */
function renderGuide(name: string, text: string): { title: string; html: string } {
  const marked = new Marked({ renderer: { link: linkOf(name), heading: headingWithId() } })
  const [first, ...rest] = marked.lexer(text)
  if (first?.type !== "heading") throw new Error(`The guide ${name} begins without a title`)
  return { title: plain(first), html: reachedByKeys(marked.parser(rest)) }
}

/** A wide table or a long line of code scrolls, so the keyboard must reach it. */
function reachedByKeys(html: string): string {
  return html.replaceAll("<table>", '<div class="wide" tabindex="0"><table>').replaceAll("</table>", "</table></div>").replaceAll("<pre>", '<pre tabindex="0">')
}

interface Renders {
  parser: { parseInline: (tokens: Token[]) => string }
}

/** Links between shipped documents stay in the page, and those to other documents are text: the installed page does not have these. */
function linkOf(name: string) {
  const folder = name === "glossary" ? "/docs/" : "/docs/guides/"
  return function link(this: Renders, { href, tokens }: Tokens.Link): string {
    const label = this.parser.parseInline(tokens)
    if (/^https?:/.test(href)) return `<a href="${href}" target="_blank" rel="noreferrer">${label}</a>`
    const { pathname, hash } = new URL(href, `file://${folder}${name}.md`)
    const shipped = SHIPPED.exec(pathname)?.[1]
    return shipped ? `<a href="/guides/${shipped}${hash}">${label}</a>` : label
  }
}

/** The names of headings in links, as the repository's readers make them. */
function headingWithId() {
  const counts = new Map<string, number>()
  return function heading(this: Renders, token: Tokens.Heading): string {
    const slug = plain(token).toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").trim().replaceAll(/\s/g, "-")
    const count = counts.get(slug) ?? 0
    counts.set(slug, count + 1)
    return `<h${token.depth} id="${count ? `${slug}-${count}` : slug}">${this.parser.parseInline(token.tokens)}</h${token.depth}>\n`
  }
}

/** Its words, without marks. */
function plain(token: Token): string {
  if ("tokens" in token && token.tokens) return token.tokens.map(plain).join("")
  return "text" in token ? String(token.text) : ""
}
