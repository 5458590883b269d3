import { nothing } from "@/lib/job/nothing"
import { useFeed } from "./useFeed"

/** What panels of a job say where they have nothing to show; give them "No checkpoint has been made". */
export function useNothing(): (said: string) => string {
  const status = useFeed((feed) => feed.job.status)
  return (said) => nothing(said, status)
}
