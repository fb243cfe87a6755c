"""Greek letters and their names, for reading and for printing."""

from __future__ import annotations

from collections.abc import Mapping

GREEK: Mapping[str, str] = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "zeta": "ζ",
    "eta": "η", "theta": "θ", "vartheta": "θ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ",
    "nu": "ν", "xi": "ξ", "omicron": "ο", "rho": "ρ", "varrho": "ρ", "sigma": "σ", "varsigma": "ς",
    "tau": "τ", "upsilon": "υ", "phi": "φ", "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω",
    "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ",
    "Upsilon": "Υ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω", "pi": "π",
}  # fmt: skip
"""Name → letter: a symbol that is declared as one may be written as the other."""

NAMES: Mapping[str, str] = {letter: name for name, letter in reversed(tuple(GREEK.items()))}
"""Letter → its first name, which is its LaTeX command."""
