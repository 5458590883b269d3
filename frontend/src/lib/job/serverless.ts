import type { Job, ServerLoad } from "@/client"

/** The job has no servers: worker k holds shard k. */
export const isServerless = (job: Job) => job.spec.roles.server.count === 0

/** A shard reports as `server-k`, also if a worker holds it. */
export function nameShard(load: ServerLoad, job: Job): ServerLoad {
  return isServerless(job) ? { ...load, label: load.label.replace("server-", "shard ") } : load
}
