import { expect, test } from "vitest"
import type { Cut, JobFile } from "@/client"
import { groupFiles } from "./files"

const file = (attempt: number, path: string): JobFile => ({ attempt, path, size: 10, sha256: "", created_at: "" })
const cut = (attempt: number, number: number): Cut => ({ attempt, number, last: number === 0, version: 1, samples: 1, created_at: "" })

test("files stand with their cut, others by attempt", () => {
  const files = [file(1, "cuts/1/a"), file(1, "cuts/10/a"), file(1, "cuts/1/b"), file(2, "cuts/0/a"), file(2, "result.json")]
  const found = groupFiles([cut(2, 0), cut(1, 1)], files)
  expect(found.map(({ title, files, size }) => [title, files.map(({ path }) => path), size])).toEqual([
    ["Last cut of attempt 2", ["cuts/0/a"], 10],
    ["Cut 1 of attempt 1", ["cuts/1/a", "cuts/1/b"], 20],
    ["Other files of attempt 2", ["result.json"], 10],
    ["Other files of attempt 1", ["cuts/10/a"], 10],
  ])
})
