/** Strategies of the job file by the aim that users select them for. */
import { getIn, type Path } from "./draft"
import type { Field, Intent, Variant } from "./schema"

export interface IntentCard {
  intent: Intent
  strategies: Variant[]
}

/** In the order of their first strategies. */
export function intentsOf(fields: readonly Field[]): IntentCard[] {
  const strategy = fields.find(({ key }) => key === "strategy")
  const cards = new Map<string, IntentCard>()
  for (const variant of strategy?.kind === "variants" ? strategy.variants : []) {
    const intent = variant.strategy?.intent
    if (!intent) continue
    const card = cards.get(intent.title) ?? { intent, strategies: [] }
    card.strategies.push(variant)
    cards.set(intent.title, card)
  }
  return [...cards.values()]
}

/** The values that a click on a strategy sets: all others of the job file stay. A gate that the strategy refuses makes way for the strategy's own. */
export function selecting({ value: name, strategy }: Variant, draft: Record<string, unknown>): [path: Path, value: unknown][] {
  if (getIn(draft, ["strategy", "name"]) === name) return []
  const changes: [Path, unknown][] = [[["strategy"], { name }]]
  const mode = getIn(draft, ["gate", "mode"]) ?? "asp"
  if (draft.gate !== undefined && strategy && !strategy.gates.some((gate) => gate === mode)) changes.push([["gate"], undefined])
  const workers = strategy?.workers ?? null
  if (workers !== null && (getIn(draft, ["roles", "worker", "count"]) ?? 1) !== workers) changes.push([["roles", "worker", "count"], workers])
  return changes
}
