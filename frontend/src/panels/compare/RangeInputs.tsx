import { Button, Collapse, Group, TextInput } from "@mantine/core"
import { useState } from "react"
import { useTyped } from "@/hooks/useTyped"
import type { ParallelAxis } from "@/lib/compare/parallel"
import type { FieldRange, RangeChange } from "@/lib/compare/ranges"
import { counted, formatNumber } from "@/lib/format"

interface RangeInputsProps {
  axes: readonly ParallelAxis[]
  ranges: readonly FieldRange[]
  onRange: (change: RangeChange) => void
  onClear: () => void
}

/** The ranges of the axes as numbers, for keyboards and exact bounds. */
export function RangeInputs({ axes, ranges, onRange, onClear }: RangeInputsProps) {
  const [opened, setOpened] = useState(false)
  return (
    <>
      <Group gap="xs" mt="xs">
        <Button variant="default" size="compact-xs" aria-expanded={opened} onClick={() => setOpened(!opened)}>
          {ranges.length > 0 ? counted(ranges.length, "range") : "Ranges"}
        </Button>
        {ranges.length > 0 && (
          <Button variant="subtle" size="compact-xs" onClick={onClear}>
            Clear all ranges
          </Button>
        )}
      </Group>
      <Collapse expanded={opened}>
        <Group gap="sm" pt="xs" align="flex-end">
          {axes.flatMap(({ key, label, extent }) => {
            if (!extent) return []
            const range = ranges.find(({ field }) => field === key)
            return [
              <Group key={key} gap={4} align="flex-end" wrap="nowrap">
                <Bound label={`${label} from`} value={range?.low ?? null} hint={extent[0]} onBound={(low) => onRange({ field: key, low })} />
                <Bound label="to" name={`${label} to`} value={range?.high ?? null} hint={extent[1]} onBound={(high) => onRange({ field: key, high })} />
              </Group>,
            ]
          })}
        </Group>
      </Collapse>
    </>
  )
}

interface BoundProps {
  label: string
  /** For people who do not see the field before it. */
  name?: string
  value: number | null
  /** Shown while there is no bound. */
  hint: number
  onBound: (value: number | null) => void
}

function Bound({ label, name = label, value, hint, onBound }: BoundProps) {
  const [text, type] = useTyped(value === null ? "" : String(value), (typed) => {
    if (typed.trim() === "") onBound(null)
    else if (Number.isFinite(Number(typed))) onBound(Number(typed))
  })
  const isWrong = !Number.isFinite(Number(text))
  return (
    <TextInput
      size="xs" miw={96} w={96} label={label} aria-label={name} inputMode="decimal" placeholder={formatNumber(hint)} value={text} error={isWrong && "A number, such as 0.1"}
      styles={{ label: { whiteSpace: "nowrap", overflow: "hidden", textOverflow: "ellipsis", maxWidth: "100%" } }} onChange={(event) => type(event.currentTarget.value)}
    />
  )
}
