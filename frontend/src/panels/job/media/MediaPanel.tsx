import { Group, Slider, Text } from "@mantine/core"
import { useState } from "react"
import { mediaUrl, type MediaItem, type MediaName } from "@/client"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useMediaItems } from "@/hooks/job/media/useMedia"
import { counted, formatMoment } from "@/lib/format"
import { mediaSourceInText, placeOf, sourcesOf } from "@/lib/media/media"
import { FileButtons } from "@/panels/job/files/FileButtons"
import { PictureView } from "./PictureView"
import { SourceSelect } from "./SourceSelect"
import { TableView } from "./TableView"
import { TextView } from "./TextView"

interface MediaPanelProps {
  jobId: string
  media: MediaName
}

/** The items of one name with a slider over their steps. It shows the newest one until another is chosen. */
export function MediaPanel({ jobId, media }: MediaPanelProps) {
  const ranks = sourcesOf(media)
  const [rank, setRank] = useState(ranks[0]!)
  const items = useMediaItems(jobId, media, rank)
  const [chosen, choose] = useState<number | null>(null)
  const list = items.data ?? []
  const found = list.findIndex(({ step }) => step === chosen)
  const at = found < 0 ? list.length - 1 : found
  const item = list[at]
  return (
    <Panel
      title={media.name}
      subtitle={`${counted(list.length, media.kind)} of ${mediaSourceInText(rank)}`}
      actions={
        <>
          <SourceSelect name={media.name} ranks={ranks} rank={rank} onSelect={setRank} />
          {item && <FileButtons name={media.name} url={mediaUrl(jobId, item.seq, true)} onShow={null} />}
        </>
      }
    >
      <Loaded {...items} isEmpty={!item}>
        {item && (
          <>
            <Content jobId={jobId} item={item} />
            <StepSlider items={list} at={at} onChange={(next) => choose(next === list.length - 1 ? null : list[next]!.step)} />
          </>
        )}
      </Loaded>
    </Panel>
  )
}

function Content({ jobId, item }: { jobId: string; item: MediaItem }) {
  switch (item.kind) {
    case "table":
      return <TableView jobId={jobId} item={item} />
    case "text":
      return <TextView jobId={jobId} item={item} />
    default:
      return <PictureView jobId={jobId} item={item} />
  }
}

function StepSlider({ items, at, onChange }: { items: readonly MediaItem[]; at: number; onChange: (at: number) => void }) {
  const item = items[at]!
  return (
    <Group gap="md" pt="sm" wrap="wrap">
      <Text size="xs" c="dimmed" className="numbers">
        {placeOf(item)} · {formatMoment(item.time)}
      </Text>
      {items.length > 1 && (
        <Slider
          flex={1}
          miw={140}
          size="sm"
          min={0}
          max={items.length - 1}
          value={at}
          onChange={onChange}
          label={null}
          thumbLabel={`Step of ${item.name}`}
          thumbProps={{ "aria-valuetext": placeOf(item) }}
        />
      )}
    </Group>
  )
}
