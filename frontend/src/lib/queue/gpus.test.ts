import { expect, test } from "vitest"
import { gpusOf } from "./gpus"

const words = (gpus: number[], gpu_share = 1) => gpusOf({ gpus, gpu_share })

test("whole GPUs are named by their numbers", () => {
  expect([words([]), words([3]), words([0, 1, 4])]).toEqual([null, "GPU 3", "GPUs 0, 1, 4"])
})

test("shares of a GPU add up for the processes of a group", () => {
  expect([words([0], 2), words([0, 0, 1, 1], 2), words([0, 0, 0, 1], 4)]).toEqual(["1/2 of GPU 0", "GPUs 0, 1", "3/4 of GPU 0, 1/4 of GPU 1"])
  expect(words([0, 0, 1], 2)).toBe("GPU 0, 1/2 of GPU 1")
})
