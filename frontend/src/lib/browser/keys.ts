export interface KeyBinding {
  /** As browsers name them, any of these; "g j": one after the other. */
  keys: string[]
  label: string
  /** Left out where what has the focus hears the keys itself: then they only stand in the list. */
  run?: () => void
}

export interface KeyGroup {
  title: string
  bindings: readonly KeyBinding[]
}

/** Milliseconds within which the second key of two has to come. */
const BETWEEN = 1200
const KEPT = "gradstream.keys"
const TYPING = "input, textarea, select, [contenteditable], [role=dialog], [role=menu], [role=listbox], [role=slider]"

/** The keys of what is on the page now: the last group that knows a key has it. */
export class KeyMap {
  private groups: KeyGroup[] = []
  private listeners = new Set<() => void>()
  private before: { key: string; at: number } | null = null

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  readonly all = (): readonly KeyGroup[] => this.groups

  /** People who dictate, or whose hands shake, can switch letters off (WCAG 2.1.4). */
  readonly letters = (): boolean => localStorage.getItem(KEPT) !== "off"

  switchLetters(on: boolean): void {
    localStorage.setItem(KEPT, on ? "on" : "off")
    this.tell()
  }

  add(group: KeyGroup): () => void {
    this.groups = [...this.groups, group]
    this.tell()
    return () => {
      this.groups = this.groups.filter((each) => each !== group)
      this.tell()
    }
  }

  /** True if the key did something. */
  readonly press = (event: KeyboardEvent): boolean => {
    const { key, ctrlKey, metaKey, altKey } = event
    if (ctrlKey || metaKey || altKey || isTyping(event.target) || isOwn(key, event.target)) return false
    if (key.length === 1 && key !== " " && !this.letters()) return false
    const first = this.before && event.timeStamp - this.before.at < BETWEEN ? `${this.before.key} ${key}` : null
    const found = (first === null ? undefined : this.find(first)) ?? this.find(key)
    this.before = found ? null : { key, at: event.timeStamp }
    if (!found) return false
    event.preventDefault()
    found()
    return true
  }

  private find(keys: string): KeyBinding["run"] {
    return this.groups.flatMap(({ bindings }) => bindings).findLast((binding) => binding.run && binding.keys.includes(keys))?.run
  }

  private tell(): void {
    for (const listener of this.listeners) listener()
  }
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest(TYPING) !== null && !target.matches("[type=checkbox]")
}

/** Enter and space belong to the button or link that has the focus. */
function isOwn(key: string, target: EventTarget | null): boolean {
  return (key === "Enter" || key === " ") && target instanceof Element && target.closest("a, button, summary, [type=checkbox]") !== null
}

export const keyMap = new KeyMap()
