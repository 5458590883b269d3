import type { MediaItem } from "@/client"
import { Loaded } from "@/components/messages/Loaded"
import { useMediaText } from "@/hooks/job/media/useMedia"
import classes from "./media.module.css"

export function TextView({ jobId, item }: { jobId: string; item: MediaItem }) {
  const text = useMediaText(jobId, item.seq)
  return (
    <Loaded {...text}>
      <pre className={classes.text} role="region" tabIndex={0} aria-label={`Text ${item.name}`}>
        {text.data}
      </pre>
    </Loaded>
  )
}
