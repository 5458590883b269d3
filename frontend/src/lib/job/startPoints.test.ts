import { expect, test } from "vitest"
import type { Artifact, Job, JobCheckpoint, JobFile } from "@/client"
import { startPoints } from "./startPoints"

const LAYOUT: JobFile = { attempt: 1, path: "tensors.safetensors", size: 10, sha256: "", created_at: "" }
const model = (name: string, note: string | null = null): Artifact => ({ name, kind: "model", size: 2000, sha256: "", created_at: "", note })
const checkpoint = (number: number): JobCheckpoint => ({ attempt: 2, number, last: number === 0, version: 1, samples: 39_488, first_needed: null, rests_on: [], created_at: "" })
const job = (status: Job["status"], best: object | null = null) => ({ status, spec: { best } }) as Job

function said(of: Job, stored: Partial<NonNullable<Parameters<typeof startPoints>[1]>>): string[] {
  return startPoints(of, { artifacts: [], checkpoints: [], files: [], ...stored }, "").map(({ start, exists, about }) => `${start}: ${exists ? "" : "none. "}${about}`)
}

test("a job without a model says why there is none", () => {
  expect(said(job("running", {}), {})).toEqual([
    "final: none. The job stores it when training ends",
    "best: none. The job stores it with an evaluation",
    "last: none. The job has no checkpoint yet",
  ])
  expect(said(job("failed"), {})).toEqual(["final: none. The job ended without one", "last: none. The job ended without one"])
  expect(startPoints(job("running"), undefined, "Loading…").map(({ exists, about }) => [exists, about])).toEqual([
    [false, "Loading…"],
    [false, "Loading…"],
  ])
})

test("a model says which it is", () => {
  const artifacts = [model("model.safetensors"), model("best.safetensors", "eval/loss 0.31 at 20,000 samples")]
  expect(said(job("succeeded", {}), { artifacts, checkpoints: [checkpoint(0), checkpoint(3)], files: [LAYOUT] })).toEqual([
    "final: model.safetensors, 2 kB",
    "best: eval/loss 0.31 at 20,000 samples",
    "last: At the end of attempt 2, 39,488 samples",
  ])
  const inParts = [model("model-00001-of-00002.safetensors"), model("model-00002-of-00002.safetensors"), model("model.safetensors.index.json")]
  expect(said(job("succeeded"), { artifacts: inParts })[0]).toBe("final: model.safetensors.index.json, 6 kB")
  const [final] = said(job("succeeded"), { artifacts: [model("model.safetensors"), model("tables-0.safetensors")] })
  expect(final).toBe("final: model.safetensors, 2 kB; rows of tables without the state of their rule")
})

test("a checkpoint without the layout of the model is none to continue from", () => {
  expect(said(job("running"), { checkpoints: [checkpoint(3)] })[1]).toBe("last: none. Its first worker has not stored the layout of the model")
  expect(said(job("running"), { checkpoints: [checkpoint(3)], files: [LAYOUT] })[1]).toBe("last: Checkpoint 3 of attempt 2, 39,488 samples")
})
