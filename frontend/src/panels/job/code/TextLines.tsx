import classes from "./TextLines.module.css"

/** A text with the numbers of its lines, which are not copied with it. */
export function TextLines({ text, name }: { text: string; name: string }) {
  const lines = text.replace(/\n$/, "").split("\n")
  return (
    <pre className={classes.text} tabIndex={0} role="region" aria-label={`Text of ${name}`}>
      {lines.map((line, index) => (
        <span key={index} className={classes.line}>
          {line}
          {"\n"}
        </span>
      ))}
    </pre>
  )
}
