import { describe, expect, it } from "vitest"
import type { Job } from "@/client"
import { makeJob } from "@/lib/testing"
import { describeHolders } from "./serverless"

describe("describeHolders", () => {
  const spec = (on_worker_loss: Job["spec"]["on_worker_loss"], collective = "auto") =>
    ({ ...makeJob().spec, on_worker_loss, roles: { server: { collective } } }) as Job["spec"]

  it("says who holds the shards by what a lost worker costs", () => {
    const usual = "each worker holds a shard"
    expect(describeHolders(makeJob({ spec: spec(null), shards: 2 }), usual)).toBe("This job has no servers: each worker holds a shard")
    expect(describeHolders(makeJob({ spec: spec("continue") }), usual)).toBe("This job has no servers: worker 0 stores the only shard")
  })

  it("knows workers that combine pushes by gloo by their one shard", () => {
    const job = makeJob({ spec: spec(null), workers: 2, shards: 1 })
    expect(describeHolders(job, "")).toBe("This job has no servers: each worker holds the whole model")
  })

  it("tells workers that go on over gloo from those in shared memory", () => {
    const job = makeJob({ spec: spec("continue", "gloo"), workers: 2, shards: 1 })
    expect(describeHolders(job, "")).toBe("This job has no servers: each worker holds the whole model")
  })
})
