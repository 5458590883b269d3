import type { Job } from "@/client"
import { formatCount } from "@/lib/format"

type StartedFrom = NonNullable<Job["started_from"]>

/** The part of the other job that this one began with, without the job's name: `checkpoint 3 of attempt 1, version 1,234, 39,488 samples`. */
export function describeStart({ checkpoint, file, attempt, number, version, samples }: StartedFrom): string {
  if (checkpoint === "final" || checkpoint === "best") return file ?? checkpoint
  return [
    `${number ? `checkpoint ${formatCount(number)}` : "the last checkpoint"} of attempt ${attempt ?? "?"}`,
    version != null && `version ${formatCount(version)}`,
    samples != null && `${formatCount(samples)} samples`,
  ]
    .filter(Boolean)
    .join(", ")
}
