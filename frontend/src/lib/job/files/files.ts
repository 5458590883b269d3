import type { JobCheckpoint, JobFile } from "@/client"

export interface FileGroup {
  key: string
  title: string
  /** Null: files of no checkpoint, or of one that is not committed. */
  checkpoint: JobCheckpoint | null
  files: JobFile[]
  size: number
}

/** Files by the checkpoint that they belong to, or else the newest that rests on them; then all others by attempt. */
export function groupFiles(checkpoints: readonly JobCheckpoint[], files: readonly JobFile[]): FileGroup[] {
  const left = new Set(files)
  const groups = checkpoints.map((checkpoint) => {
    const own = files.filter(({ attempt, path }) => attempt === checkpoint.attempt && path.startsWith(`checkpoints/${checkpoint.number}/`))
    for (const file of own) left.delete(file)
    return { checkpoint, own }
  })
  for (const { checkpoint, own } of groups) {
    const rested = [...left].filter((file) => checkpoint.rests_on.some(({ attempt, path }) => attempt === file.attempt && path === file.path))
    for (const file of rested) left.delete(file)
    own.push(...rested)
  }
  const attempts = [...new Set([...left].map(({ attempt }) => attempt))].sort((a, b) => b - a)
  const others = attempts.map((number) =>
    group(`${number}`, `Other files of attempt ${number}`, null, [...left].filter(({ attempt }) => attempt === number)),
  )
  return [...groups.map(({ checkpoint, own }) => group(`${checkpoint.attempt}/${checkpoint.number}`, titleOf(checkpoint), checkpoint, own)), ...others]
}

function titleOf({ attempt, number, last }: JobCheckpoint): string {
  return `${last ? "Last checkpoint" : `Checkpoint ${number}`} of attempt ${attempt}`
}

function group(key: string, title: string, checkpoint: JobCheckpoint | null, files: JobFile[]): FileGroup {
  return { key, title, checkpoint, files, size: files.reduce((sum, { size }) => sum + size, 0) }
}
