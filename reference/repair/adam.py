"""Adam with decoupled weight decay, on arrays."""

import numpy as np


class Adam:
    """Changes the parameters in place; one array of moments for each of them."""

    def __init__(
        self,
        parameters: list[np.ndarray],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        self.parameters = parameters
        self.lr = lr
        self.beta1, self.beta2 = betas
        self.eps = eps
        self.weight_decay = weight_decay
        self.steps = 0
        self.m = [np.zeros_like(one) for one in parameters]
        self.v = [np.zeros_like(one) for one in parameters]

    def step(self, gradients: list[np.ndarray]) -> None:
        """One update by the gradients of the parameters."""
        self.steps += 1
        for index, gradient in enumerate(gradients):
            parameter = self.parameters[index]
            self.m[index] = self.beta1 * self.m[index] + (1 - self.beta1) * gradient
            self.v[index] = self.beta2 * self.v[index] + (1 - self.beta2) * gradient**2
            m_hat = self.m[index] / (1 - self.beta1**self.steps)
            v_hat = self.v[index] / (1 - self.beta2**self.steps)
            parameter -= self.lr * self.weight_decay * parameter
            parameter -= self.lr * m_hat / (np.sqrt(v_hat) + self.eps)
