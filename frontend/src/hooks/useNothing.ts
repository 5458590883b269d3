import { nothing } from "@/lib/nothing"
import { useFeed } from "./useFeed"

/** What panels of a job say where they have nothing to show; give them "No cut has been made". */
export function useNothing(): (said: string) => string {
  const status = useFeed((feed) => feed.job.status)
  return (said) => nothing(said, status)
}
