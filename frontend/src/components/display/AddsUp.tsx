import { Text } from "@mantine/core"
import { IconAlertTriangle, IconCheck } from "@tabler/icons-react"
import { formatCount } from "@/lib/format"

/** A check mark if a sum is that of its parts, else the difference. `missing`: the sum less its parts. */
export function AddsUp({ missing }: { missing: number }) {
  if (missing === 0) return <IconCheck size={16} color="var(--gs-good)" role="img" aria-label="adds up" />
  return (
    <Text span size="sm" c="var(--gs-bad)">
      <IconAlertTriangle size={14} aria-hidden /> {formatCount(Math.abs(missing))} {missing > 0 ? "unaccounted for" : "too many"}
    </Text>
  )
}
