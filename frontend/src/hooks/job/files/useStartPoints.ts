import type { Job } from "@/client"
import { useFeed } from "@/hooks/job/useFeed"
import { startPoints, type StartPoint } from "@/lib/job/startPoints"
import { useArtifacts } from "./useArtifacts"
import { useFiles } from "./useFiles"

/** Models that a new job can continue from, and why it cannot from the others. */
export function useStartPoints(job: Job): StartPoint[] {
  const latestEvent = useFeed((feed) => feed.events.at(-1)?.seq ?? 0)
  const artifacts = useArtifacts(job, latestEvent)
  const files = useFiles(job, latestEvent)
  const stored = artifacts.data && files.data && { artifacts: artifacts.data.items, ...files.data }
  return startPoints(job, stored, artifacts.failureReason || files.failureReason ? "The platform did not list the job's files; it is asked again" : "Loading…")
}
