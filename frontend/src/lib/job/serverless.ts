import type { Job, ServerLoad } from "@/client"

/** The job has no servers: its workers hold the shards. */
export const isServerless = (job: Job) => job.spec.roles.server.count === 0

/** Holders of the shards in a job without servers. `usual`: the same, where each worker holds one. */
export function describeHolders(job: Job, usual: string) {
  const { collective } = job.spec.roles.server
  if (job.spec.on_worker_loss === "continue" && collective !== "gloo") return "This job has no servers: worker 0 stores the only shard"
  const byGloo = job.shards === 1 && job.workers > 1
  return `This job has no servers: ${byGloo ? "each worker holds the whole model" : usual}`
}

/** A shard reports as `server-k`, also if a worker holds it. */
export function nameShard(load: ServerLoad, job: Job): ServerLoad {
  return isServerless(job) ? { ...load, label: load.label.replace("server-", "shard ") } : load
}
