import type { Job } from "@/client"

/** The record of worker 0 about itself in `environment.json`. */
export interface Environment {
  python: string
  gradstream: string
  packages: string[]
  packages_left_out: number
  host: string | null
  system: string | null
  kernel: string | null
  processor: string | null
  cores: number | null
  gpu: string | null
  driver: string | null
}

/** Null: the text is no record of an environment. */
export function readEnvironment(text: string): Environment | null {
  try {
    const read: unknown = JSON.parse(text)
    return typeof read === "object" && read !== null && "packages" in read && Array.isArray(read.packages) ? (read as Environment) : null
  } catch {
    return null
  }
}

/** Name and value of all that is known. */
export function environmentRows(origin: Job["origin"] | null, environment: Environment | null): [string, string][] {
  const rows: [string, string | null | undefined][] = [
    ["Commit", origin?.commit && `${origin.commit.slice(0, 12)}${origin.dirty ? " (dirty: files that were sent differ)" : ""}`],
    ["Branch", origin?.branch],
    ["Submitted by", origin?.client && `gradstream ${origin.client}`],
  ]
  if (environment) {
    const torch = environment.packages.find((each) => each.startsWith("torch=="))?.slice("torch==".length)
    const { gpu, driver, cores } = environment
    rows.push(
      ["Python", environment.python],
      ["torch", torch],
      ["Gradstream", environment.gradstream],
      ["Host", environment.host],
      ["System", [environment.system, environment.kernel].filter(Boolean).join(", ")],
      ["Processor", [environment.processor, cores && `${cores} cores`].filter(Boolean).join(", ")],
      ["GPU", gpu && `${gpu}${driver ? `, driver ${driver}` : ""}`],
    )
  }
  return rows.filter((row): row is [string, string] => Boolean(row[1]))
}

/** Name and value of each package and of each fact about the machine. */
export function environmentRecord(environment: Environment): [string, string][] {
  const rows = Object.entries(environment).filter((row): row is [string, string | number] => !row[0].startsWith("packages") && row[1] !== null)
  return [...environment.packages.map((each): [string, string] => [each.split("==")[0]!, each.split("==").slice(1).join("==")]), ...rows.map(([name, value]): [string, string] => [name, String(value)])]
}

export function matchingPackages(packages: readonly string[], wanted: string): string[] {
  const part = wanted.trim().toLowerCase()
  return packages.filter((each) => each.toLowerCase().includes(part))
}
