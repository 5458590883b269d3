import { UnstyledButton } from "@mantine/core"
import { useId } from "react"
import { useDraftSetter, useDraftWhole } from "@/hooks/new-job/useDraft"
import { getIn } from "@/lib/job-file/draft"
import { intentsOf, selecting, type IntentCard } from "@/lib/job-file/intents"
import type { Field, Variant } from "@/lib/job-file/schema"
import classes from "./IntentCards.module.css"

/** Aims with their strategies. A card selects its first strategy; a name on it selects that one. */
export function IntentCards({ fields }: { fields: readonly Field[] }) {
  const { value } = useDraftWhole()
  const set = useDraftSetter()
  const select = (variant: Variant) => selecting(variant, value).forEach(([path, next]) => set(path, next))
  return (
    <div className={classes.cards} role="group" aria-label="Algorithms by intent">
      {intentsOf(fields).map((card) => (
        <Card key={card.intent.title} card={card} named={getIn(value, ["strategy", "name"])} onSelect={select} />
      ))}
    </div>
  )
}

function Card({ card: { intent, strategies }, named, onSelect }: { card: IntentCard; named: unknown; onSelect: (variant: Variant) => void }) {
  const id = useId()
  const selected = strategies.some(({ value }) => value === named)
  return (
    <div className={classes.card} data-selected={selected || undefined}>
      <UnstyledButton className={classes.title} aria-pressed={selected} aria-describedby={id} onClick={() => selected || onSelect(strategies[0]!)}>
        {intent.title}
      </UnstyledButton>
      <div id={id}>
        <p>{intent.summary}</p>
        <p className={classes.needs}>Needs {intent.needs}.</p>
      </div>
      <div className={classes.strategies}>
        {strategies.map((variant) => (
          <UnstyledButton key={variant.value} aria-pressed={variant.value === named} title={variant.summary} onClick={() => onSelect(variant)}>
            {variant.value}
          </UnstyledButton>
        ))}
      </div>
    </div>
  )
}
