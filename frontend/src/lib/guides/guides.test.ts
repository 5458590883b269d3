import { expect, test } from "vitest"
import { GUIDES, type Guide } from "./guides"

const modules = import.meta.glob<Guide>(["../../../../docs/guides/*.md", "../../../../docs/glossary.md"], { eager: true })
const html = new Map(Object.entries(modules).map(([path, { html }]) => [/([\w-]+)\.md$/.exec(path)![1]!, html]))

/** Addresses of the page that the links of a guide name, each with its heading. */
function linksOf(text: string): [string, string | undefined][] {
  return [...text.matchAll(/href="\/guides\/([\w-]+)(?:#([^"]*))?"/g)].map(([, name, heading]) => [name!, heading])
}

test("each guide of the repository has a title, and the text below it", () => {
  expect(GUIDES.length).toBe(html.size)
  expect(GUIDES).toContainEqual({ name: "stragglers", title: "Slow workers" })
  expect(html.get("stragglers")).toContain('<h2 id="times-of-slowness">Times of slowness</h2>')
  expect(html.get("stragglers")).not.toContain("<h1")
})

test("each link inside of the guides leads to a guide and to a heading that are there", () => {
  const links = [...html].flatMap(([name, text]) => linksOf(text).map((link) => [name, ...link]))
  expect(links.length).toBeGreaterThan(50)
  expect(links.filter(([, to]) => !html.has(to!))).toEqual([])
  expect(links.filter(([, to, heading]) => heading && !html.get(to!)!.includes(`id="${heading}"`))).toEqual([])
})

test("a link to a document that is not shipped is text, and one to the web opens a tab", () => {
  for (const text of html.values()) {
    const elsewhere = [...text.matchAll(/<a href="(?!\/guides\/)([^"]*)"([^>]*)>/g)]
    for (const [, href, rest] of elsewhere) expect([href, rest]).toEqual([expect.stringMatching(/^https?:/), ' target="_blank" rel="noreferrer"'])
  }
  expect(html.get("groups")).toContain("ADR 147")
})

test("no heading has the name of an element of the page, and the keyboard reaches what scrolls", () => {
  for (const text of html.values()) {
    expect(text).not.toMatch(/id="(root|main)"/)
    expect(text).not.toMatch(/<pre>|(?<!tabindex="0">)<table>/)
  }
})
