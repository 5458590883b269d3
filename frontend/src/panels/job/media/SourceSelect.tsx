import { Select } from "@mantine/core"
import { mediaSource } from "@/lib/media/media"

interface SourceSelectProps {
  /** Name of the media, for the label. */
  name: string
  ranks: readonly number[]
  rank: number
  onSelect: (rank: number) => void
}

/** The process whose items are shown, where several have logged some. */
export function SourceSelect({ name, ranks, rank, onSelect }: SourceSelectProps) {
  if (ranks.length < 2) return null
  const data = ranks.map((each) => ({ value: String(each), label: mediaSource(each) }))
  return <Select size="xs" w={130} aria-label={`Process of ${name}`} data={data} value={String(rank)} onChange={(value) => onSelect(Number(value))} allowDeselect={false} />
}
