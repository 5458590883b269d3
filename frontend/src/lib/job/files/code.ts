import type { Bundle } from "@/client"

/** The file that is asked for, if it is there; else that of the workload, else the first. */
export function firstShown(files: Bundle["files"], entrypoint: string, asked: string | null): string | null {
  const paths = files.map(({ path }) => path)
  const module = entrypoint.split(":")[0]!.replaceAll(".", "/")
  return [asked, `${module}.py`, `${module}/__init__.py`].find((path) => path !== null && paths.includes(path)) ?? paths[0] ?? null
}

/** Kind of a line of a unified difference. */
export function lineKind(line: string): "place" | "removed" | "added" | "same" {
  return line.startsWith("@@") ? "place" : line.startsWith("-") ? "removed" : line.startsWith("+") ? "added" : "same"
}

/** Name and values of what differs between two records, packages by their name. */
export function recordDifferences(one: readonly (readonly [string, string])[], other: readonly (readonly [string, string])[]): { path: string; values: string[] }[] {
  const [before, after] = [new Map(one), new Map(other)]
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((name) => before.get(name) !== after.get(name))
    .map((path) => ({ path, values: [before.get(path) ?? "–", after.get(path) ?? "–"] }))
}
