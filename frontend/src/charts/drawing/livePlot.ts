import uPlot from "uplot"
import { drawAdded, drawPicture, type Drawn, type Picture } from "./picture"
import type { PlotOptions } from "./plot"
import { windowOf, type Window } from "./window"

/** A uPlot and the picture on it, of which as little is drawn anew as has changed. */
export class LivePlot {
  readonly plot: uPlot
  /** The picture is as it would be drawn at once: without a margin, and without seams where points were added. */
  rests = true
  private seen: Picture
  private window: Window
  private drawn: Drawn[] = []

  constructor(
    private readonly container: HTMLElement,
    private readonly height: number,
    private readonly picture: () => Picture,
    options: (canvas: Pick<PlotOptions, "window" | "draw">) => Omit<uPlot.Options, "width" | "height">,
  ) {
    this.seen = picture()
    this.window = windowOf(this.seen)
    const draw = () => (this.drawn = drawPicture(this.plot, this.seen))
    this.plot = new uPlot({ ...options({ window: () => this.window, draw }), width: container.clientWidth, height }, framed(this.window), container)
  }

  /** Draws all of the picture, axes and lines. */
  readonly draw = (): void => {
    const seen = this.picture()
    this.show(seen, windowOf(seen))
    this.rests = true
  }

  /** Draws what has been added to the lines; all of the picture where more than that has changed. */
  readonly drawOn = (): void => {
    const seen = this.picture()
    const window = windowOf(seen, this.window)
    const added = window === this.window ? drawAdded(this.plot, seen, this.drawn) : null
    if (!added) this.show(seen, window)
    this.rests &&= added?.every((line, index) => line === this.drawn[index]) ?? false
    this.seen = seen
    this.drawn = added ?? this.drawn
  }

  /** Makes the plot as wide as its element. */
  readonly fit = (): void => {
    const { clientWidth: width } = this.container
    if (width > 0 && width !== this.plot.width) this.plot.setSize({ width, height: this.height })
  }

  /** uPlot draws soon after a change, and asks for the rest then. */
  private show(seen: Picture, window: Window): void {
    this.seen = seen
    this.window = window
    this.plot.setData(framed(window))
  }
}

/** uPlot wants data to have axes: the corners of what is to be seen. */
function framed({ x, y }: Window): uPlot.AlignedData {
  return [x, y]
}
