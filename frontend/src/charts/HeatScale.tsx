import { useComputedColorScheme } from "@mantine/core"
import { heatGradient } from "./heatColor"
import classes from "./HeatScale.module.css"

/** Values of the colours of a map, at both ends and in the middle, which is not half of the highest. */
export function HeatScale({ middle, highest }: { middle: string; highest: string }) {
  const scheme = useComputedColorScheme("light")
  return (
    <span className={classes.scale}>
      0 <i style={{ background: heatGradient(scheme, 0, 0.5) }} aria-hidden />
      <span>{middle}</span> <i style={{ background: heatGradient(scheme, 0.5, 1) }} aria-hidden />
      <span>{highest}</span>
    </span>
  )
}
