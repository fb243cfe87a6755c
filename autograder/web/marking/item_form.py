"""The page on which head TAs and instructors change the items of a written question while it is marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages as notices
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from autograder.core.errors import AutograderError
from autograder.core.wording import Phrase
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.sanitise import clean_input
from autograder.service import versions
from autograder.service.item_changes import EditedItem, change_items, list_editable_items
from autograder.service.marking import answers
from autograder.service.models import Offer, Role
from autograder.web import assignment_details
from autograder.web.guard import Visit, require_role
from autograder.web.marking import pages
from autograder.web.responses import render_page, stop_cutting
from autograder.web.site import choose_language, get_words
from autograder.web.version_trials import redirect_to_trial

_MOST_POINTS = Decimal(1000)
_MOST_TEXT = 2000
_MOST_ITEMS = 100


class _PointsField(forms.DecimalField):
    """Points; people also type a decimal comma and a typographic minus sign."""

    def to_python(self, value: Any) -> Decimal | None:
        """Return the number, or None for an empty field."""
        return super().to_python(str(value or "").translate(str.maketrans(",−", ".-")))


class ItemForm(forms.Form):
    """One item: its points, and text and guide in each language of the assignment."""

    id = forms.CharField(required=False, max_length=100, widget=forms.HiddenInput)
    points = _PointsField(
        min_value=-_MOST_POINTS,
        max_value=_MOST_POINTS,
        decimal_places=2,
        widget=forms.TextInput(attrs={"inputmode": "decimal", "size": 6, "autocomplete": "off"}),
    )

    def __init__(self, *args: Any, languages: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.languages = languages
        for name, rows in (("text", 2), ("guide", 3)):
            for language in languages:
                area = forms.Textarea(attrs={"rows": rows, "lang": language})
                self.fields[f"{name}_{language}"] = forms.CharField(
                    required=name == "text", max_length=_MOST_TEXT, widget=area
                )
        stop_cutting(self)

    def list_texts(self) -> list[tuple[str, str, forms.BoundField]]:
        """Return the fields of texts, each with its name and its language."""
        return [
            (name, language, self[f"{name}_{language}"])
            for name in ("text", "guide")
            for language in self.languages
        ]

    def read_item(self) -> EditedItem:
        """Return the item of a valid form. Texts in languages that the assignment does not list stay."""
        values, before = self.cleaned_data, self.initial.get("item")
        texts = [dict(before.text) if before else {}, dict(before.guide) if before else {}]
        for name, text in zip(("text", "guide"), texts, strict=True):
            for language in self.languages:
                # Browsers send line ends as CRLF; an unchanged field must not change the rubric.
                typed = clean_input(values[f"{name}_{language}"].replace("\r\n", "\n"))
                if typed.strip() != text.get(language, "").strip():
                    text[language] = typed
                if not text.get(language):
                    text.pop(language, None)
        return EditedItem(before.id if before else "", values["points"], *texts)


class _ItemFormSet(forms.BaseFormSet):
    """All items of a question, and an empty form for a further one."""

    def clean(self) -> None:
        """Refuse a question without items."""
        if not any(self.errors) and not self.list_remaining():
            raise forms.ValidationError(self.form_kwargs["say"]("items-none"))

    def get_form_kwargs(self, index: int | None) -> dict[str, Any]:
        """Return the languages; the sentences are for the set alone."""
        return {"languages": super().get_form_kwargs(index)["languages"]}

    def list_remaining(self) -> list[ItemForm]:
        """Return the forms of items that the question has from now on."""
        filled = (form for form in self.forms if form.initial or form.has_changed())
        return [form for form in filled if not form.cleaned_data.get("DELETE")]


_make_formset = forms.formset_factory(
    ItemForm, formset=_ItemFormSet, extra=1, can_delete=True, max_num=_MOST_ITEMS, validate_max=True
)


@require_role(Role.HEAD_TA, "GET", "HEAD", "POST")
def edit_items(request: HttpRequest, visit: Visit, offer: Offer, place: int) -> HttpResponse:
    """Show the items of a written question. A POST makes a version with other ones and begins its trial."""
    row = pages.get_place(offer, place)
    rubric = assignment_details.get_assignment(offer).rubric
    cell = answers.find_cell(rubric, row.notebook, row.cell)
    if cell is None or not pages.has_editable_items(cell):
        raise Http404
    question, languages = cell.question, rubric.assignment.languages
    _, data = versions.load_rubric_file(offer.version)
    items = list_editable_items(data, question.id, languages)
    say = get_words(request)["t"]
    formset = _make_formset(
        request.POST if request.method == "POST" else None,
        initial=[_to_initial(item, languages) for item in items],
        form_kwargs={"languages": languages, "say": say},
        prefix="items",
    )
    refused: Phrase = ""
    if request.method == "POST":
        sent = {form.prefix: request.POST.get(f"{form.prefix}-id", "") for form in formset.initial_forms}
        seen = pages.parse_number(request.POST.get("version", ""))
        if (
            seen != offer.version_id
            or len(sent) != len(items)
            or any(sent[form.prefix] != form.initial.get("id") for form in formset.initial_forms)
        ):
            refused = say("items-outdated")
        elif formset.is_valid():
            changed = [form.read_item() for form in formset.list_remaining()]
            try:
                _, trial = change_items(offer, seen, question.id, changed, request.user)
            except AutograderError as error:
                refused = error.text
            else:
                if trial is not None:
                    notices.info(request, say("trial-begun", number=trial.version.number))
                    return redirect_to_trial(visit, trial)
                notices.success(request, say("items-offered"))
                return redirect("marking", slug=visit.course.slug, assignment=offer.assignment)
    pick = Labels(choose_language(request)).pick
    context = {
        "formset": formset,
        "refused": refused,
        "place": row,
        "version": offer.version_id,
        "title": pick(question.title, question.id),
    }
    failed = request.method == "POST"
    return render_page(request, "mark_edit_items.html", context, 422 if failed else 200)


def _to_initial(item: EditedItem, languages: Sequence[str]) -> Mapping[str, Any]:
    fields = {
        f"{name}_{language}": texts.get(language, "").strip()
        for name, texts in (("text", item.text), ("guide", item.guide))
        for language in languages
    }
    return {"id": item.id, "points": item.points, "item": item, **fields}
