import { nothing } from "@/lib/job/nothing"
import { useFeed } from "./useFeed"

/** The sentence of a job's panels that have nothing to show; give it "No checkpoint has been made". */
export function useNothing(): (said: string) => string {
  const status = useFeed((feed) => feed.job.status)
  return (said) => nothing(said, status)
}
