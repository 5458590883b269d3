import { expect, test } from "vitest"
import { describeStart } from "./startedFrom"

const NOTHING = { file: null, sha256: null, attempt: null, number: null, version: null, samples: null }
const SOURCE = { ...NOTHING, job: "1", name: "digits" }

test("a checkpoint is told with its version", () => {
  const taken = { ...SOURCE, checkpoint: "last" as const, attempt: 2, number: 3, version: 1234, samples: 39_488 }
  expect(describeStart(taken)).toBe("checkpoint 3 of attempt 2, version 1,234, 39,488 samples")
  expect(describeStart({ ...taken, checkpoint: 3 })).toBe(describeStart(taken))
  expect(describeStart({ ...taken, number: 0, version: null, samples: null })).toBe("the last checkpoint of attempt 2")
})

test("a model is told by its file", () => {
  expect(describeStart({ ...SOURCE, checkpoint: "best", file: "best.safetensors" })).toBe("best.safetensors")
})
