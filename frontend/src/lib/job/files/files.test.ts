import { expect, test } from "vitest"
import type { JobCheckpoint, JobFile } from "@/client"
import { groupFiles } from "./files"

const file = (attempt: number, path: string): JobFile => ({ attempt, path, size: 10, sha256: "", created_at: "" })
const checkpoint = (attempt: number, number: number): JobCheckpoint => ({ attempt, number, last: number === 0, version: 1, samples: 1, first_needed: null, rests_on: [], created_at: "" })

test("files stand with their checkpoint, others by attempt", () => {
  const files = [file(1, "checkpoints/1/a"), file(1, "checkpoints/10/a"), file(1, "checkpoints/1/b"), file(2, "checkpoints/0/a"), file(2, "result.json")]
  const found = groupFiles([checkpoint(2, 0), checkpoint(1, 1)], files)
  expect(found.map(({ title, files, size }) => [title, files.map(({ path }) => path), size])).toEqual([
    ["Last checkpoint of attempt 2", ["checkpoints/0/a"], 10],
    ["Checkpoint 1 of attempt 1", ["checkpoints/1/a", "checkpoints/1/b"], 20],
    ["Other files of attempt 2", ["result.json"], 10],
    ["Other files of attempt 1", ["checkpoints/10/a"], 10],
  ])
})

test("a file of a forgotten checkpoint stands with the newest that rests on it, and one of a kept checkpoint with its own", () => {
  const files = [file(1, "checkpoints/1/a"), file(1, "checkpoints/2/a"), file(1, "checkpoints/3/a")]
  const restsOn = [1, 2].map((number) => ({ attempt: 1, path: `checkpoints/${number}/a` }))
  const found = groupFiles([{ ...checkpoint(1, 3), rests_on: restsOn }, { ...checkpoint(1, 2), rests_on: restsOn.slice(0, 1) }], files)
  expect(found.map(({ title, files }) => [title, files.map(({ path }) => path)])).toEqual([
    ["Checkpoint 3 of attempt 1", ["checkpoints/3/a", "checkpoints/1/a"]],
    ["Checkpoint 2 of attempt 1", ["checkpoints/2/a"]],
  ])
})
