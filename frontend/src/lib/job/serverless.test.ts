import { describe, expect, it } from "vitest"
import type { Job } from "@/client"
import { makeJob } from "@/lib/testing"
import { describeHolders } from "./serverless"

describe("describeHolders", () => {
  const spec = (on_worker_loss: Job["spec"]["on_worker_loss"]) => ({ ...makeJob().spec, on_worker_loss })

  it("says who holds the shards by what a lost worker costs", () => {
    const usual = "each worker holds a shard"
    expect(describeHolders(makeJob({ spec: spec(null), shards: 2 }), usual)).toBe("This job has no servers: each worker holds a shard")
    expect(describeHolders(makeJob({ spec: spec("continue") }), usual)).toBe("This job has no servers: worker 0 stores the only shard")
  })

  it.each([
    [null, "gloo" as const],
    ["continue" as const, "gloo" as const],
    [null, "nccl" as const],
  ])("knows workers that hold the whole model by what the platform has chosen: %s, %s", (onWorkerLoss, collective) => {
    const job = makeJob({ spec: spec(onWorkerLoss), collective })
    expect(describeHolders(job, "")).toBe("This job has no servers: each worker holds the whole model")
  })
})
