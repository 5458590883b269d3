import { MultiSelect, type MultiSelectProps } from "@mantine/core"

interface ManySelectProps<Value extends string> extends Omit<MultiSelectProps<Value>, "value" | "onChange" | "onClear"> {
  value: readonly Value[]
  /** Gets a function from the values as they are by then to those after the pick. */
  onPick: (pick: (now: readonly Value[]) => Value[]) => void
}

/**
 * A MultiSelect that loses no pick. Mantine's computes the whole new list from the values that were last drawn, so the second of two
 * quick picks would undo the first. This one applies the difference alone.
 */
export function ManySelect<Value extends string>({ value, onPick, ...others }: ManySelectProps<Value>) {
  return (
    <MultiSelect
      {...others}
      value={[...value]}
      onChange={(after) => onPick((now) => applied(now, value, after))}
      onClear={() => onPick(() => [])}
    />
  )
}

function applied<Value>(now: readonly Value[], drawn: readonly Value[], after: readonly Value[]): Value[] {
  const added = after.filter((value) => !drawn.includes(value) && !now.includes(value))
  return [...now.filter((value) => !drawn.includes(value) || after.includes(value)), ...added]
}
