import type { Cut, JobFile } from "@/client"

export interface FileGroup {
  key: string
  title: string
  /** Null: files of no cut, or of one that is not committed. */
  cut: Cut | null
  files: JobFile[]
  size: number
}

/** Files by the cut that they belong to, the newest first; then all others by attempt. */
export function groupFiles(cuts: readonly Cut[], files: readonly JobFile[]): FileGroup[] {
  const left = new Set(files)
  const groups = cuts.map((cut) => {
    const own = files.filter(({ attempt, path }) => attempt === cut.attempt && path.startsWith(`cuts/${cut.number}/`))
    for (const file of own) left.delete(file)
    const name = cut.last ? "Last cut" : `Cut ${cut.number}`
    return group(`${cut.attempt}/${cut.number}`, `${name} of attempt ${cut.attempt}`, cut, own)
  })
  const attempts = [...new Set([...left].map(({ attempt }) => attempt))].sort((a, b) => b - a)
  const others = attempts.map((number) =>
    group(`${number}`, `Other files of attempt ${number}`, null, [...left].filter(({ attempt }) => attempt === number)),
  )
  return [...groups, ...others]
}

function group(key: string, title: string, cut: Cut | null, files: JobFile[]): FileGroup {
  return { key, title, cut, files, size: files.reduce((sum, { size }) => sum + size, 0) }
}
