export interface Guide {
  title: string
  html: string
}

const titles = import.meta.glob<string>(["../../../../docs/guides/*.md", "../../../../docs/glossary.md"], { eager: true, query: "?title", import: "default" })
const guides = import.meta.glob<Guide>(["../../../../docs/guides/*.md", "../../../../docs/glossary.md"])

/** Name and title of each guide, by title. */
export const GUIDES = Object.entries(titles)
  .map(([path, title]) => ({ name: nameOf(path), title }))
  .sort((a, b) => a.title.localeCompare(b.title))

const loaders = new Map(Object.entries(guides).map(([path, load]) => [nameOf(path), load]))

/** The import of the guide of this name, if there is one. */
export function loaderOf(name: string): (() => Promise<Guide>) | undefined {
  return loaders.get(name)
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1, -".md".length)
}
