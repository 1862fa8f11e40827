/**
 * Runs in the page: the texts in sight whose contrast with what is behind them is below what WCAG 2.2 asks for at level AA.
 * Colours are composited on a canvas, which reads every notation that CSS has.
 */
export const faintTexts = `(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true })
  const over = (colours) => {
    canvas.clearRect(0, 0, 1, 1)
    for (const colour of colours) {
      canvas.fillStyle = colour
      canvas.fillRect(0, 0, 1, 1)
    }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3)
  }
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((value) => value / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const grounds = (element) => {
    const found = []
    for (let each = element; each; each = each.parentElement) found.unshift(getComputedStyle(each).backgroundColor)
    return ['white', ...found]
  }
  const faint = []
  for (const element of document.querySelectorAll('body *')) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())
    if (!hasText || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue
    if (element.closest('.unseen, noscript, datalist, svg title, .skip, :disabled')) continue
    const style = getComputedStyle(element)
    const behind = grounds(element)
    const colour = element instanceof SVGElement ? style.fill : style.color
    const [one, other] = [luminance(over([...behind, colour])), luminance(over(behind))]
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)
    const size = parseFloat(style.fontSize)
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700)
    if (contrast < (isLarge ? 3 : 4.5)) faint.push(element.textContent.trim().slice(0, 40) + ' ' + contrast.toFixed(2))
  }
  return faint
})()`
