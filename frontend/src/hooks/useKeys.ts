import { useEffect, useRef, useSyncExternalStore } from "react"
import { keyMap, type KeyBinding, type KeyGroup } from "@/lib/browser/keys"
import { CHART_KEYS } from "@/lib/charts/chartKeys"

/** Keys that work while the caller is shown, under a title in the list of keys. `bindings` may be new ones in every render: they keep their place. */
export function useKeys(title: string, bindings: readonly KeyBinding[]): void {
  const latest = useRef(bindings)
  useEffect(() => {
    latest.current = bindings
  })
  const words = bindings.map(({ keys, label }) => `${label}: ${keys.join(" or ")}`).join("\n")
  useEffect(() => {
    const kept = latest.current.map((binding, index) => ({ ...binding, run: binding.run && (() => latest.current[index]?.run?.()) }))
    return keyMap.add({ title, bindings: kept })
  }, [title, words])
}

const LISTED = [...CHART_KEYS, { keys: ["Shift Enter"], label: "On the name of a line: show only this line" }]

/** Where charts are, their keys stand in the list; the one that has the focus hears them. */
export function useChartKeys(): void {
  useKeys("On a chart that has the focus", LISTED)
}

/** Once for the whole page: hear the keys. */
export function useKeyboard(): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => void keyMap.press(event)
    window.addEventListener("keydown", press)
    return () => window.removeEventListener("keydown", press)
  }, [])
}

export function useKeyGroups(): readonly KeyGroup[] {
  return useSyncExternalStore(keyMap.subscribe, keyMap.all)
}

export function useLetterKeys(): [boolean, (on: boolean) => void] {
  return [useSyncExternalStore(keyMap.subscribe, keyMap.letters), (on) => keyMap.switchLetters(on)]
}
