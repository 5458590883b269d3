import { mediaUrl, type MediaItem } from "@/client"
import { mediaSourceInText, placeOf } from "@/lib/media/media"
import classes from "./media.module.css"

/** A picture with fewer pixels is enlarged without smoothing, so that each pixel is seen. */
const SMALL = 160

export function PictureView({ jobId, item }: { jobId: string; item: MediaItem }) {
  const isSmall = Math.max(item.width ?? 0, item.height ?? 0) < SMALL
  return (
    <div className={classes.picture}>
      <img
        src={mediaUrl(jobId, item.seq)}
        alt={`${item.name} of ${mediaSourceInText(item.rank)}. ${placeOf(item)}`}
        width={item.width ?? undefined}
        height={item.height ?? undefined}
        data-small={isSmall || undefined}
      />
    </div>
  )
}
