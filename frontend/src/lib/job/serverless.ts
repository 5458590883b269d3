import type { Job, ServerLoad } from "@/client"

/** The job has no servers: its workers hold the shards. */
export const isServerless = (job: Job) => job.spec.roles.server.count === 0

/** Holders of the shards in a job without servers. `usual`: the same, where each worker holds one. */
export function describeHolders(job: Job, usual: string) {
  if (job.collective === "gloo" || job.collective === "nccl") return "This job has no servers: each worker holds the whole model"
  return `This job has no servers: ${job.spec.on_worker_loss === "continue" ? "worker 0 stores the only shard" : usual}`
}

/** A shard reports as `server-k`, also if a worker holds it. */
export function nameShard(load: ServerLoad, job: Job): ServerLoad {
  return isServerless(job) ? { ...load, label: load.label.replace("server-", "shard ") } : load
}
