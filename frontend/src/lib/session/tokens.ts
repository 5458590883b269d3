import type { BrowserSession, Token } from "@/client"
import { counted, formatDay } from "@/lib/format"

const DAY = 86_400

/** How long a new token lasts, by what the form calls it; seconds, null: it does not expire. */
export const LIFETIMES = { "1 day": DAY, "7 days": 7 * DAY, "30 days": 30 * DAY, "90 days": 90 * DAY, "1 year": 365 * DAY, Never: null }
export type Lifetime = keyof typeof LIFETIMES

export type Scope = NonNullable<Token["scope"]>
export const SCOPES: Record<Scope, string> = {
  full: "Everything you may do",
  read: "Sees everything, changes nothing",
}

export const KINDS: Record<Token["kind"], string> = { api: "API", join: "Join" }

/** Uses of a join token: "1 of 5 machines joined"; undefined for an API token. */
export function usesOf({ uses, used }: Pick<Token, "uses" | "used">): string | undefined {
  return typeof uses === "number" ? `${used} of ${counted(uses, "machine")} joined` : undefined
}

/** When a token ends: "never", "1 Mar 2027", or "expired 20 Nov 2026" once that is over. */
export function expiryOf({ expires_at }: Pick<Token, "expires_at">, now: number): { text: string; expired: boolean } {
  if (!expires_at) return { text: "never", expired: false }
  const expired = Date.parse(expires_at) <= now
  return { text: `${expired ? "expired " : ""}${formatDay(expires_at)}`, expired }
}

/** The same in one line, for narrow screens: "API, scope read, expires 1 Mar 2027". */
export function summaryOf(token: Pick<Token, "kind" | "scope" | "expires_at">, now: number): string {
  const { text, expired } = expiryOf(token, now)
  const end = token.expires_at === null ? "does not expire" : expired ? text : `expires ${text}`
  return [KINDS[token.kind], ...(token.scope ? [`scope ${token.scope}`] : []), end].join(", ")
}

/** Consequence of revoking a token. */
export function consequenceOf({ id, kind }: Pick<Token, "id" | "kind">, sessions: readonly Pick<BrowserSession, "token_id" | "current">[]): string {
  if (kind === "join") return "No other machine can join with it. Machines that have joined stay."
  const mine = sessions.filter(({ token_id }) => token_id === id)
  const refused = "Programs that use this token lose access at once."
  if (mine.length === 0) return refused
  return `${refused} ${counted(mine.length, "browser")} that signed in with it ${mine.length === 1 ? "is" : "are"} signed out${mine.some(({ current }) => current) ? ", this one too" : ""}.`
}
