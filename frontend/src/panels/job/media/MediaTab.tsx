import { SimpleGrid } from "@mantine/core"
import type { MediaName } from "@/client"
import { Loaded } from "@/components/messages/Loaded"
import { useMedia } from "@/hooks/job/media/useMedia"
import { useFeed } from "@/hooks/job/useFeed"
import { useNothing } from "@/hooks/job/useNothing"
import { HistogramPanel } from "./HistogramPanel"
import { MediaPanel } from "./MediaPanel"

/** The kinds in the order of the page: pictures first. */
const ORDER: readonly string[] = ["image", "figure", "histogram", "table", "text"]

/** The media that the job's code has logged, a panel for each name. */
export function MediaTab() {
  const job = useFeed((feed) => feed.job)
  const media = useMedia(job)
  const nothing = useNothing()
  const items = inOrder(media.data?.items ?? [])
  return (
    <Loaded {...media} isEmpty={items.length === 0} empty={nothing("The code has logged no image, figure, table, text or histogram")}>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        {items.map((item) => (item.kind === "histogram" ? <HistogramPanel key={item.name} jobId={job.id} media={item} /> : <MediaPanel key={`${item.name} ${item.kind}`} jobId={job.id} media={item} />))}
      </SimpleGrid>
    </Loaded>
  )
}

function inOrder(items: readonly MediaName[]): MediaName[] {
  return items.toSorted((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind) || a.name.localeCompare(b.name, "en"))
}
